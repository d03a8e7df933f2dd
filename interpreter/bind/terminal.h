// The terminal that the program writes to.
#pragma once

namespace rille::bind {

/// How many columns the terminal behind a descriptor has; 80 where there is none.
int columns_of(int descriptor);

}  // namespace rille::bind
