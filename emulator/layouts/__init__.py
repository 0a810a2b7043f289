"""What operators of servers set up by known delays, and what measures compare with."""
