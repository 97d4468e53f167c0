// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_formats/evp_key.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/param_build.h>

#include <vector>

#include "backends/ssh_formats/wire_encoding.hpp"

namespace train {

namespace {

template <auto free>
struct Free {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using SecretNumber = std::unique_ptr<BIGNUM, Free<BN_clear_free>>;
using NumberContext = std::unique_ptr<BN_CTX, Free<BN_CTX_free>>;
using ParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, Free<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Free<OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Free<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Free<EVP_MD_CTX_free>>;
using EcdsaSignature = std::unique_ptr<ECDSA_SIG, Free<ECDSA_SIG_free>>;

SecretNumber number_of(std::string_view big_endian) {
  SecretNumber number(BN_secure_new());
  if (!number) return nullptr;
  return BN_bin2bn(bytes_of(big_endian), static_cast<int>(big_endian.size()), number.get())
             ? std::move(number)
             : nullptr;
}

std::string big_endian_of(const BIGNUM* number) {
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  return bytes;
}

EvpKey key_from(const char* type, OSSL_PARAM_BLD* builder) {
  const Params params(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_KEYPAIR, params.get()) != 1)
    return nullptr;
  return EvpKey(key);
}

struct Curve {
  std::string_view ssh_name;  // RFC 5656, section 10.1
  const char* openssl_name;
  std::string_view openssl_alias;
};
constexpr Curve curves[] = {{"nistp256", "prime256v1", "P-256"},
                            {"nistp384", "secp384r1", "P-384"},
                            {"nistp521", "secp521r1", "P-521"}};

std::string parameter_number(EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) return {};
  const SecretNumber owned(number);
  return big_endian_of(number);
}

std::string ecdsa_blob(EVP_PKEY* key) {
  char name[64] = {};
  std::size_t size = 0;
  if (EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof name, &size) !=
      1)
    return {};
  for (const Curve& curve : curves) {
    if (name != std::string_view(curve.openssl_name) && name != curve.openssl_alias) continue;
    const std::string x = parameter_number(key, OSSL_PKEY_PARAM_EC_PUB_X);
    const std::string y = parameter_number(key, OSSL_PKEY_PARAM_EC_PUB_Y);
    const auto width = static_cast<std::size_t>(EVP_PKEY_get_bits(key) + 7) / 8;
    if (x.empty() || x.size() > width || y.size() > width) return {};
    std::string point = "\x04";
    point.append(width - x.size(), '\0').append(x);
    point.append(width - y.size(), '\0').append(y);
    return wire_string("ecdsa-sha2-" + std::string(curve.ssh_name)) + wire_string(curve.ssh_name) +
           wire_string(point);
  }
  return {};
}

// OpenSSL returns DER; SSH uses two numbers (RFC 5656, section 3.1.2).
std::string ssh_ecdsa_signature(const std::string& der) {
  const unsigned char* position = bytes_of(der);
  const EcdsaSignature signature(d2i_ECDSA_SIG(nullptr, &position, static_cast<long>(der.size())));
  if (!signature) return {};
  return wire_mpint(big_endian_of(ECDSA_SIG_get0_r(signature.get()))) +
         wire_mpint(big_endian_of(ECDSA_SIG_get0_s(signature.get())));
}

const EVP_MD* digest_of(std::string_view algorithm) {
  if (algorithm == "rsa-sha2-512" || algorithm == "ecdsa-sha2-nistp521") return EVP_sha512();
  if (algorithm == "ecdsa-sha2-nistp384") return EVP_sha384();
  if (algorithm == "rsa-sha2-256" || algorithm == "ecdsa-sha2-nistp256") return EVP_sha256();
  return nullptr;
}

}  // namespace

EvpKey make_ed25519_key(std::string_view seed) {
  return EvpKey(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes_of(seed), seed.size()));
}

EvpKey make_ecdsa_key(std::string_view curve, std::string_view point, std::string_view scalar) {
  for (const Curve& known : curves) {
    if (known.ssh_name != curve) continue;
    const ParamBuilder builder(OSSL_PARAM_BLD_new());
    const SecretNumber number = number_of(scalar);
    if (!builder || !number ||
        OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                        known.openssl_name, 0) != 1 ||
        OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                         point.size()) != 1 ||
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_PRIV_KEY, number.get()) != 1)
      return nullptr;
    return key_from("EC", builder.get());
  }
  return nullptr;
}

EvpKey make_rsa_key(const RsaNumbers& numbers) {
  const SecretNumber n = number_of(numbers.n), e = number_of(numbers.e), d = number_of(numbers.d);
  const SecretNumber p = number_of(numbers.p), q = number_of(numbers.q);
  const SecretNumber q_inverse = number_of(numbers.q_inverse);
  const SecretNumber d_p(BN_secure_new()), d_q(BN_secure_new()), minus(BN_secure_new());
  const NumberContext context(BN_CTX_new());
  const ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!n || !e || !d || !p || !q || !q_inverse || !d_p || !d_q || !minus || !context || !builder)
    return nullptr;
  // OpenSSH's format lacks these two numbers; without them signing is several times slower.
  if (BN_sub(minus.get(), p.get(), BN_value_one()) != 1 ||
      BN_mod(d_p.get(), d.get(), minus.get(), context.get()) != 1 ||
      BN_sub(minus.get(), q.get(), BN_value_one()) != 1 ||
      BN_mod(d_q.get(), d.get(), minus.get(), context.get()) != 1)
    return nullptr;
  const std::pair<const char*, const BIGNUM*> values[] = {
      {OSSL_PKEY_PARAM_RSA_N, n.get()},
      {OSSL_PKEY_PARAM_RSA_E, e.get()},
      {OSSL_PKEY_PARAM_RSA_D, d.get()},
      {OSSL_PKEY_PARAM_RSA_FACTOR1, p.get()},
      {OSSL_PKEY_PARAM_RSA_FACTOR2, q.get()},
      {OSSL_PKEY_PARAM_RSA_EXPONENT1, d_p.get()},
      {OSSL_PKEY_PARAM_RSA_EXPONENT2, d_q.get()},
      {OSSL_PKEY_PARAM_RSA_COEFFICIENT1, q_inverse.get()}};
  for (const auto& [name, value] : values)
    if (OSSL_PARAM_BLD_push_BN(builder.get(), name, value) != 1) return nullptr;
  return key_from("RSA", builder.get());
}

LockedBytes der_of(EVP_PKEY* key) {
  const int size = i2d_PrivateKey(key, nullptr);
  if (size <= 0) return {};
  LockedBytes der(static_cast<std::size_t>(size));
  auto* position = reinterpret_cast<unsigned char*>(der.bytes().data());
  return i2d_PrivateKey(key, &position) == size ? std::move(der) : LockedBytes();
}

EvpKey private_key_of_der(std::string_view der) {
  const unsigned char* position = bytes_of(der);
  return EvpKey(d2i_AutoPrivateKey(nullptr, &position, static_cast<long>(der.size())));
}

std::string public_blob_of(EVP_PKEY* key) {
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_ED25519: {
      std::string raw(32, '\0');
      std::size_t size = raw.size();
      if (EVP_PKEY_get_raw_public_key(key, reinterpret_cast<unsigned char*>(raw.data()), &size) !=
          1)
        return {};
      return wire_string("ssh-ed25519") + wire_string(raw);
    }
    case EVP_PKEY_RSA:
      return wire_string("ssh-rsa") + wire_mpint(parameter_number(key, OSSL_PKEY_PARAM_RSA_E)) +
             wire_mpint(parameter_number(key, OSSL_PKEY_PARAM_RSA_N));
    case EVP_PKEY_EC:
      return ecdsa_blob(key);
    default:
      return {};
  }
}

std::string sign_with(EVP_PKEY* key, std::string_view data, std::string_view algorithm) {
  const DigestContext context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, digest_of(algorithm), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes_of(data), data.size()) != 1)
    return {};
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes_of(data), data.size()) != 1)
    return {};
  signature.resize(size);
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC ? ssh_ecdsa_signature(signature) : signature;
}

}  // namespace train
