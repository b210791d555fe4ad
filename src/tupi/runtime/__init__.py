"""What everything stands on: errors, whole files, threads, memory."""
