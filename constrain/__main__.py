"""`python -m constrain`: the command line."""

from constrain.cli import main

if __name__ == "__main__":
    main()
