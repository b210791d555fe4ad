"""Where items live: blocks, and passes over them."""
