// What every header of librille begins with: the version, what is exported, and the namespace of
// the interface. No header here includes one of the engine's; std is all they need. Readable as C.
#pragma once

#define RILLE_VERSION_MAJOR 0
#define RILLE_VERSION_MINOR 1
#define RILLE_VERSION_PATCH 0

#if defined(__GNUC__)
#define RILLE_API __attribute__((visibility("default")))
#else
#define RILLE_API
#endif

// The interface is rille::v1, which programs see as rille. The library's own sources see the
// engine's names in rille as well; for them v1 is a plain namespace, and symbols are the same.
#if defined(RILLE_INSIDE)
#define RILLE_V1 v1
#else
#define RILLE_V1 inline v1
#endif
