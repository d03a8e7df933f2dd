// The project's only macros. RILLE_HD marks what the GPU compiler needs too; RILLE_CLONES compiles
// a loop for several instruction sets and picks one when the program starts; RILLE_API exports.
#pragma once

#if defined(__CUDACC__)
#define RILLE_HD __host__ __device__
#else
#define RILLE_HD
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(RILLE_NO_CLONES) && !defined(__CUDACC__) && !defined(__SANITIZE_ADDRESS__)
#define RILLE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define RILLE_CLONES
#endif

#define RILLE_API __attribute__((visibility("default")))
