// Free lists for the small objects that every op makes: tensors, storages, nodes. One list a
// thread; a block may be freed on another thread than it was made on, it then stays there.
#pragma once
#include <cstddef>
#include <new>

namespace rille {

template <class T>
class Pool {
 public:
  static void* take() {
#if !defined(__SANITIZE_ADDRESS__)  // reuse would hide a use after free
    List& l = list();
    if (l.head) {
      Link* link = l.head;
      l.head = link->next;
      --l.count;
      return link;
    }
#endif
    return ::operator new(sizeof(T) < sizeof(Link) ? sizeof(Link) : sizeof(T));
  }
  static void give(void* block) noexcept {
#if !defined(__SANITIZE_ADDRESS__)
    List& l = list();
    if (l.count < kKeep) {
      l.head = new (block) Link{l.head};
      ++l.count;
      return;
    }
#endif
    ::operator delete(block);
  }

 private:
  static constexpr size_t kKeep = 16384;
  struct Link {
    Link* next;
  };
  struct List {
    Link* head = nullptr;
    size_t count = 0;
    bool ended = false;
    ~List() {
      while (head) {
        Link* link = head;
        head = link->next;
        ::operator delete(link);
      }
      count = kKeep;  // what is freed after this thread's end goes straight back
    }
  };
  static List& list() {
    thread_local List l;
    return l;
  }
};

}  // namespace rille
