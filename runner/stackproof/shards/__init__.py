"""One run cut in parts: which tests are whose, how long they take, and what each part leaves behind."""
