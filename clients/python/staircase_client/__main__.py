"""`python -m staircase_client`."""

from staircase_client.cli import main

if __name__ == "__main__":
    main()
