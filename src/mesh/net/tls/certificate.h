// Certificates that only carry a key: self-signed, valid from 1970 to 9999. Pure.
#pragma once

#include <memory>
#include <optional>

#include "mesh/identity/keys.h"

struct x509_st;

namespace corral::mesh {

std::shared_ptr<x509_st> make_certificate(const SigningKey& key);
// The Ed25519 key of the certificate; none for another kind of key. Ignores the rest of the certificate.
std::optional<PublicKey> key_of(x509_st* certificate);

}  // namespace corral::mesh
