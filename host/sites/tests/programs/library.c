// Nothing but `take`, for programs in other languages.
void take(void);
