"""The local page: a session that knows no HTTP, and a server that does."""
