"""`python -m undust` is the `undust` command."""

from undust.cli import main

if __name__ == "__main__":
    main()
