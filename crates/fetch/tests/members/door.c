/* A word that others find by linking with this: the function that their constructors and destructors call. */
void (*door)(int);
