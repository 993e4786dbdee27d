// Certificates as carriers of keys: self-signed, valid from 1970 to 9999, and only the key in them counts. Pure.
#pragma once

#include <memory>
#include <optional>

#include "mesh/identity/keys.h"

struct x509_st;

namespace corral::mesh {

std::shared_ptr<x509_st> make_certificate(const SigningKey& key);
// None unless the key is one of ours. Nothing else of the certificate is looked at.
std::optional<PublicKey> key_of(x509_st* certificate);

}  // namespace corral::mesh
