"""The page of `tupi serve`: a session that knows no HTTP, a small server, and hand-written modules for the browser."""
