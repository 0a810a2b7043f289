"""The programs that hosts and pods run: thin mains over the rooms below."""
