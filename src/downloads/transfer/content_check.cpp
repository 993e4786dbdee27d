#include "downloads/transfer/content_check.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include "downloads/cache_layout.h"
#include "downloads/errors.h"

namespace corral::downloads {
namespace {

constexpr std::size_t kPiece = 1 << 20;

}  // namespace

void ContentCheck::Free::operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }

ContentCheck::ContentCheck(HashKind kind, std::uint64_t size) {
  if (kind == HashKind::none) return;
  context_.reset(EVP_MD_CTX_new());
  const EVP_MD* const method = kind == HashKind::sha256 ? EVP_sha256() : EVP_sha1();
  if (!context_ || EVP_DigestInit_ex(context_.get(), method, nullptr) != 1)
    throw std::runtime_error("OpenSSL computes no hash");
  if (kind == HashKind::git_sha1) {
    const std::string head = fmt::format("blob {}", size);
    EVP_DigestUpdate(context_.get(), head.c_str(), head.size() + 1);  // with its NUL
  }
}

ContentCheck::~ContentCheck() = default;
ContentCheck::ContentCheck(ContentCheck&&) noexcept = default;
ContentCheck& ContentCheck::operator=(ContentCheck&&) noexcept = default;

Result<> ContentCheck::read_to(int file, std::uint64_t end) {
  if (!context_) {
    hashed_ = std::max(hashed_, end);
    return {};
  }
  std::vector<char> piece(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, end - std::min(end, hashed_))));
  while (hashed_ < end) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), end - hashed_));
    const ssize_t got = ::pread(file, piece.data(), want, static_cast<off_t>(hashed_));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::unexpected(disk_error(got < 0 ? errno : EIO, "reading back", "the downloaded file"));
    EVP_DigestUpdate(context_.get(), piece.data(), static_cast<std::size_t>(got));
    hashed_ += static_cast<std::uint64_t>(got);
  }
  return {};
}

std::string ContentCheck::digest() {
  if (!context_) return {};
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned int length = 0;
  EVP_DigestFinal_ex(context_.get(), bytes.data(), &length);
  std::string text;
  for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

}  // namespace corral::downloads
