#include "support/crash.h"

#include <set>

namespace rille::test::disk {
namespace {

constexpr size_t kBlock = 512;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

bool is_entry(const Op& op) {
  return op.kind == Op::create || op.kind == Op::mkdir || op.kind == Op::rename ||
         op.kind == Op::unlink || op.kind == Op::symlink;
}

/// Positions in the first `end` ops of what no later sync has made durable.
std::vector<size_t> pending(const std::vector<Op>& trace, size_t end) {
  std::vector<size_t> open;
  std::set<int64_t> synced;
  std::set<std::string> folders;
  for (size_t i = end; i-- > 0;) {
    const Op& op = trace[i];
    if (op.kind == Op::sync) synced.insert(op.file);
    if (op.kind == Op::sync_folder) folders.insert(op.path);
    if (op.kind == Op::write && !synced.contains(op.file)) open.push_back(i);
    if (is_entry(op) && !folders.contains(folder_of(op.path))) open.push_back(i);
  }
  return {open.rbegin(), open.rend()};
}

void put(std::string& file, const Op& write, const std::function<bool(size_t)>& has_block) {
  for (size_t from = 0; from < write.bytes.size();) {
    const size_t at = write.offset + from;
    const size_t n = std::min(kBlock - at % kBlock, write.bytes.size() - from);
    if (has_block(at / kBlock)) {
      if (file.size() < at + n) file.resize(at + n, '\0');  // what is between was never written
      file.replace(at, n, write.bytes, from, n);
    }
    from += n;
  }
}

/// Of something pending; of a write, from `torn` on, another choice of blocks each.
enum Fate : int { lost, whole, torn };
constexpr int kWriteFates = 8;

Image build(const std::vector<Op>& trace, size_t end, const std::map<size_t, int>& fates,
            std::mt19937& random) {
  std::map<int64_t, std::string> files;
  std::map<std::string, int64_t> names;  // where a file is by the trace, durable or not
  std::map<std::string, int64_t> entries;
  Image image;
  for (size_t i = 0; i < end; ++i) {
    const Op& op = trace[i];
    const auto fate = fates.find(i);
    const bool there = fate == fates.end() || fate->second != lost;
    const bool torn = there && fate != fates.end() && fate->second >= torn;
    if (op.kind == Op::write && there)
      put(files[op.file], op, [&](size_t) { return !torn || random() % 2 == 0; });
    if (op.kind == Op::create) {
      names[op.path] = op.file;
      if (there) entries[op.path] = op.file;
    }
    if (op.kind == Op::mkdir && there) image[op.path + "/"] = "";
    if (op.kind == Op::symlink) {
      if (there) image[op.path] = "\x01" + op.to;
    }
    if (op.kind == Op::rename) {
      const auto id = names.find(op.path);
      if (id != names.end()) names[op.to] = id->second;
      if (there && id != names.end()) {
        entries[op.to] = id->second;
        entries.erase(op.path);
      }
      names.erase(op.path);
      const auto link = image.find(op.path);
      if (there && link != image.end()) {
        image[op.to] = link->second;
        image.erase(link);
      }
    }
    if (op.kind == Op::unlink) {
      names.erase(op.path);
      if (there) {
        entries.erase(op.path);
        image.erase(op.path);
      }
    }
  }
  for (const auto& [path, id] : entries) image[path] = files[id];
  // A folder whose own entry was lost takes along what is in it.
  std::set<std::string> gone;
  for (const Op& op : trace)
    if (op.kind == Op::mkdir && !image.contains(op.path + "/")) gone.insert(op.path + "/");
  std::erase_if(image, [&](const auto& one) {
    for (const std::string& folder : gone)
      if (one.first.starts_with(folder)) return true;
    return false;
  });
  return image;
}

}  // namespace

int64_t crash_states(const std::vector<Op>& trace, int most, std::mt19937& random,
                     const std::function<void(const Image&, int64_t)>& visit) {
  int64_t states = 0, marked = -1;
  for (size_t end = 0; end <= trace.size(); ++end) {
    if (end > 0 && trace[end - 1].kind == Op::mark) marked = trace[end - 1].number;
    const std::vector<size_t> open = pending(trace, end);
    double all = 1;
    for (const size_t i : open) all *= trace[i].kind == Op::write ? kWriteFates : 2;
    const int count = all <= most ? static_cast<int>(all) : most;
    for (int n = 0; n < count; ++n, ++states) {
      std::map<size_t, int> fates;
      int rest = n;
      for (const size_t i : open) {
        const int ways = trace[i].kind == Op::write ? kWriteFates : 2;
        fates[i] = all <= most ? rest % ways : static_cast<int>(random() % 64) % ways;
        rest /= ways;
      }
      visit(build(trace, end, fates, random), marked);
    }
  }
  return states;
}

}  // namespace rille::test::disk
