"""Speed, memory and growth, side by side with peers in one run; each file is a command of its own."""
