"""`python -m foresight` is the command `foresight`."""

from foresight.app.cli import main

if __name__ == "__main__":
    main()
