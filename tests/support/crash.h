// What may be on a disk after the power went: from a trace of file operations, every state that a
// file system is allowed to leave behind.
#pragma once
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/disk.h"

namespace rille::test::disk {

/// Files by path, folders end in '/', links start with '\x01'.
using Image = std::map<std::string, std::string>;

/// Calls `visit` with the image and the number of the last mark that came before the crash (-1 for
/// none), for a crash after each op of the trace. Of what was not synced by then anything may be
/// there or not: each entry of a folder on its own, each write on its own, whole, or only some of
/// its blocks of 512 bytes. All combinations where there are at most `most`, else that many drawn
/// at random. Returns the number of states.
int64_t crash_states(const std::vector<Op>& trace, int most, std::mt19937& random,
                     const std::function<void(const Image&, int64_t)>& visit);

}  // namespace rille::test::disk
