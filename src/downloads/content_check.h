// Whether the bytes are those that the repository promised. The hash follows behind what has been written: what comes
// in order is still in the system's cache when it is read back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <openssl/types.h>

#include "base/error.h"
#include "downloads/choice.h"

namespace corral::downloads {

// Used by one thread at a time, any. Blocks.
class ContentCheck {
 public:
  // Of a file of `size` bytes.
  ContentCheck(HashKind kind, std::uint64_t size);
  ~ContentCheck();
  ContentCheck(ContentCheck&&) noexcept;
  ContentCheck& operator=(ContentCheck&&) noexcept;

  // Bytes that are in the hash, from 0 on.
  std::uint64_t hashed() const { return hashed_; }
  // Reads on from the file up to `end`. Errors: disk_failed.
  Result<> read_to(int file, std::uint64_t end);
  // In small hexadecimal digits; empty for a file without a hash. Once, when hashed() is the size.
  std::string digest();

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const;
  };

  std::unique_ptr<EVP_MD_CTX, Free> context_;
  std::uint64_t hashed_ = 0;
};

}  // namespace corral::downloads
