"""What operators of servers set up before they start, and what measures compare with: known delays, ideal trees."""
