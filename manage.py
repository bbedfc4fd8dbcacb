#!/usr/bin/env python3
"""Entry point of Staircase's commands."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "planner.settings.base")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
