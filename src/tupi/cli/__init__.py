"""The command `tupi`: one file per subcommand."""

from tupi.cli.group import tupi


def main() -> None:
    """Run the command line."""
    tupi.main(prog_name="tupi")


__all__ = ["main", "tupi"]
