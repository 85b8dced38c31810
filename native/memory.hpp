// Working memory that is not zeroed, lies on a cache line, and is kept from one use to the next.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#include "span.hpp"

namespace viewpass {

template <class T>
class Buffer {
 public:
  /// Room for n values, of undefined content; what was there before is gone where there is too little.
  Span<T> room(std::size_t n) {
    if (n > size_) {
      held_.reset();  // before the new: both need not be there at once
      held_.reset(static_cast<T*>(::operator new[](n * sizeof(T), std::align_val_t{64})));
      size_ = n;
    }
    return {held_.get(), n};
  }
  T* data() const { return held_.get(); }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  std::unique_ptr<T[], Free> held_;
  std::size_t size_ = 0;
};

}  // namespace viewpass
