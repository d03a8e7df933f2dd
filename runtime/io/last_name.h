// Files that are about to lose their last name. Whoever takes a file's last name or descriptor away
// waits until the system has freed its blocks and its pages: 0.2 ms a megabyte and more. Held open
// over that moment a large file is closed, and freed, on a thread of its own.
#pragma once
#include <string>

#include "io/file.h"

namespace rille::io {

class LastName {
 public:
  /// Of the file with this name in the folder, if there is one, and it has no other name.
  LastName(int folder, const std::string& name);
  LastName(const LastName&) = delete;
  LastName& operator=(const LastName&) = delete;
  /// Lets go of it.
  ~LastName();

 private:
  Fd fd_;
  bool large_ = false;
};

/// Waits until what was let go of is free.
void wait_until_freed();

}  // namespace rille::io
