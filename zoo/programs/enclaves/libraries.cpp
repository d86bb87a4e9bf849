// A program that a caller LINKs: it is the first to use the state of libraries, which outlives it, and it leaks. Ends with status 7.
#include <dlfcn.h>
#include <iostream>
#include <locale>
#include <sstream>
#include <string>
#include <vector>

static std::vector<std::string> *volatile leaked;

// A context of OpenSSL, which is not freed. True where there is no OpenSSL.
static bool secures() {
    void *library = dlopen("libssl.so.3", RTLD_NOW);
    if (!library) return true;
    auto method = reinterpret_cast<const void *(*)()>(dlsym(library, "TLS_client_method"));
    auto create = reinterpret_cast<void *(*)(const void *)>(dlsym(library, "SSL_CTX_new"));
    auto session = reinterpret_cast<void *(*)(void *)>(dlsym(library, "SSL_new"));
    if (!method || !create || !session) return false;
    void *context = create(method());
    return context && session(context);
}

int main() {
    leaked = new std::vector<std::string>(3000, std::string(100, 'x'));
    std::locale::global(std::locale("C.UTF-8"));
    std::ostringstream text;
    text.imbue(std::locale());
    text << 1234.5 << ' ' << (*leaked)[7].size();
    if (text.str() != "1234.5 100") return 1;
    std::cout << "";
    return secures() ? 7 : 2;
}
