// Bytes of a file, read in order. Every read is checked against what is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "span.hpp"

namespace viewpass {

using Bytes = Span<const std::uint8_t>;

/// The bytes are damaged, or of a form that is not read here. A ValueError in Python.
struct Refused : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

class ByteReader {
 public:
  ByteReader() = default;
  explicit ByteReader(Bytes bytes) : rest_(bytes) {}

  std::size_t left() const { return rest_.size(); }
  Bytes rest() const { return rest_; }

  Bytes take(std::size_t length) {
    if (length > rest_.size()) throw Refused("the bytes end too early");
    const Bytes taken = rest_.part(0, length);
    rest_ = rest_.part(length, rest_.size() - length);
    return taken;
  }

  std::uint8_t byte() { return take(1)[0]; }

  /// A number of `length` bytes (at most 8), the lowest first.
  std::uint64_t fixed(std::size_t length) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (const std::uint8_t byte : take(length)) {
      value |= std::uint64_t{byte} << shift;
      shift += 8;
    }
    return value;
  }

  /// A number in groups of seven bits, the lowest first, that fits into `bits` (at most 64).
  std::uint64_t varint(unsigned bits) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < bits; shift += 7) {
      const std::uint8_t here = byte();
      const std::uint64_t group = here & 0x7FU;
      if (bits - shift < 7 && group >> (bits - shift) != 0) break;
      value |= group << shift;
      if (here < 0x80) return value;
    }
    throw Refused("a number is larger than it may be");
  }

 private:
  Bytes rest_;
};

}  // namespace viewpass
