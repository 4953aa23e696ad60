"""Generated exports, large and irregular, in the providers own layouts."""
