"""What a job of any size would take: constants that were measured, and arithmetic with them."""
