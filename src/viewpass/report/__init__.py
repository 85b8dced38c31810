"""What a summary shows: a page, a card for notebooks, plots."""
