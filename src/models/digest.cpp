#include "models/digest.h"

#include <stdexcept>

#include <openssl/evp.h>

namespace corral::models {

Digest::Digest() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL: SHA-256 failed");
  }
}

void Digest::add(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }

Sha256 Digest::finish() {
  Sha256 hash{};
  unsigned length = 0;
  EVP_DigestFinal_ex(context_.get(), hash.data(), &length);
  return hash;
}

Sha256 digest_of(std::string_view bytes) {
  Digest digest;
  digest.add(bytes);
  return digest.finish();
}

}  // namespace corral::models
