"""What the report says, and as text: verdict, rows, launch commands, sources."""
