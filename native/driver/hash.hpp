// One number for all bits of a result.
#pragma once

#include <cstring>

#include "centres.hpp"

namespace viewpass {

/// 64-bit FNV-1a of the numbers' bits, their lowest byte first.
class Hash {
 public:
  template <class T>
  void add(T x) {
    uint64_t bits = 0;
    if constexpr (std::is_same_v<T, float>) {
      uint32_t half;
      std::memcpy(&half, &x, sizeof half);
      bits = half;
    } else if constexpr (std::is_same_v<T, double>) {
      std::memcpy(&bits, &x, sizeof bits);
    } else {
      bits = uint64_t(x);
    }
    for (int byte = 0; byte < 8; ++byte, bits >>= 8) hash_ = (hash_ ^ (bits & 0xff)) * 0x100000001b3;
  }
  template <class T>
  void add(Span<T> numbers) {
    for (const T& x : numbers) add(std::remove_const_t<T>(x));
  }
  template <class T>
  void add(const std::vector<T>& numbers) {
    add(Span<const T>(numbers));
  }
  template <class T>
  void add(const std::vector<Span<T>>& parts) {
    for (Span<T> part : parts) add(part);
  }
  template <class T>
  void add(const std::vector<Grid<T>>& parts) {
    for (Grid<T> part : parts) add(Span<T>(part.data(), part.n_rows() * part.width()));
  }
  void add(const Centres& centres) {
    for (const ViewCentres& u : centres.views) add(u.values()), add(u.squares), add(u.known);
  }
  uint64_t get() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace viewpass
