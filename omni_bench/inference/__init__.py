"""A trained model on recordings without labels."""
