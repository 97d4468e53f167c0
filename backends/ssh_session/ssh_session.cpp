// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_session/ssh_session.hpp"

#include <libssh2.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "backends/ssh_formats/wire_encoding.hpp"
#include "backends/ssh_session/memory.hpp"

namespace train {

namespace {

// Callbacks with the types of libssh2; `abstract` is where the session keeps our pointer.
ssize_t receive_bytes(libssh2_socket_t, void* buffer, std::size_t size, int, void** abstract) {
  return static_cast<ByteStream*>(*abstract)->receive(static_cast<char*>(buffer), size);
}

ssize_t send_bytes(libssh2_socket_t, const void* bytes, std::size_t size, int, void** abstract) {
  static_cast<ByteStream*>(*abstract)->queue(static_cast<const char*>(bytes), size);
  return static_cast<ssize_t>(size);
}

// The server announces the end of the connection: bytes after that are useless, though the
// connection itself may live for another moment.
void note_disconnect(LIBSSH2_SESSION*, int, const char*, int, const char*, int, void** abstract) {
  static_cast<ByteStream*>(*abstract)->shut();
}

struct SignRequest {
  const SshSession::Sign& sign;
  std::string trouble;
};

// The signed data (RFC 4252, section 7) names the algorithm that libssh2 chose; newer versions
// choose among the RSA algorithms themselves.
std::string algorithm_of_request(std::string_view data) {
  WireReader reader(data);
  reader.string();                              // session identifier
  reader.byte();                                // message number
  for (int i = 0; i < 3; ++i) reader.string();  // user, service, method
  reader.byte();
  const auto algorithm = reader.string();
  return algorithm ? std::string(*algorithm) : std::string();
}

int sign_request(LIBSSH2_SESSION*, unsigned char** signature, std::size_t* signature_size,
                 const unsigned char* data, std::size_t size, void** abstract) {
  auto& request = *static_cast<SignRequest*>(*abstract);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto answer = request.sign(std::string(bytes), algorithm_of_request(bytes));
  if (!answer) return LIBSSH2_ERROR_EAGAIN;
  const Result<std::string>& signed_bytes = *answer;
  if (!signed_bytes) {
    request.trouble = signed_bytes.error().diagnostics.front().message;
    return -1;
  }
  // libssh2 frees it with the session's allocator, which is the default one.
  *signature = static_cast<unsigned char*>(std::malloc(signed_bytes->size()));
  if (!*signature) return -1;
  std::memcpy(*signature, signed_bytes->data(), signed_bytes->size());
  *signature_size = signed_bytes->size();
  return 0;
}

// libssh2 has a list for each direction.
std::vector<int> kinds_of(SshSession::Method method) {
  switch (method) {
    case SshSession::Method::key_exchange:
      return {LIBSSH2_METHOD_KEX};
    case SshSession::Method::host_key:
      return {LIBSSH2_METHOD_HOSTKEY};
    case SshSession::Method::cipher:
      return {LIBSSH2_METHOD_CRYPT_CS, LIBSSH2_METHOD_CRYPT_SC};
    case SshSession::Method::mac:
      return {LIBSSH2_METHOD_MAC_CS, LIBSSH2_METHOD_MAC_SC};
  }
  return {};
}

}  // namespace

SshSession::SshSession(ByteStream& stream)
    : stream_(stream), session_(libssh2_session_init_ex(nullptr, nullptr, nullptr, &stream)) {
  if (!session_) return;
  // The session takes 54 KB, most of it for the longest possible packet.
  release_zero_pages(session_, ::malloc_usable_size(session_));
  libssh2_session_set_blocking(session_, 0);
  libssh2_session_callback_set(session_, LIBSSH2_CALLBACK_RECV,
                               reinterpret_cast<void*>(receive_bytes));
  libssh2_session_callback_set(session_, LIBSSH2_CALLBACK_SEND,
                               reinterpret_cast<void*>(send_bytes));
  libssh2_session_callback_set(session_, LIBSSH2_CALLBACK_DISCONNECT,
                               reinterpret_cast<void*>(note_disconnect));
}

SshSession::~SshSession() {
  if (!session_) return;
  // A disconnect message keeps the server's log free of errors; no answer is waited for.
  libssh2_session_disconnect(session_, "done");
  stream_.flush();
  stream_.shut();
  // Freeing the session closes its channel and may try to read the answer of the peer; the stream
  // was shut, so it finds the end at once. The bound protects against bugs: a leak is better than
  // an endless loop.
  for (int i = 0; i < 16 && libssh2_session_free(session_) == LIBSSH2_ERROR_EAGAIN; ++i) {
  }
}

std::vector<std::string> SshSession::libraries() {
  return {std::string("libssh2 ") + libssh2_version(0),
          std::string("OpenSSL ") + OpenSSL_version(OPENSSL_VERSION_STRING),
          std::string("zlib ") + zlibVersion()};
}

std::vector<std::string> SshSession::supported(Method method) {
  LIBSSH2_SESSION* session = libssh2_session_init_ex(nullptr, nullptr, nullptr, nullptr);
  if (!session) return {};
  const char** names = nullptr;
  const int count = libssh2_session_supported_algs(session, kinds_of(method).front(), &names);
  std::vector<std::string> list(names, names + std::max(count, 0));
  if (names) libssh2_free(session, names);
  libssh2_session_free(session);
  return list;
}

bool SshSession::prefer(Method method, const std::vector<std::string>& algorithms) {
  if (!session_) return false;
  // libssh2 1.10 removes unknown names with an overlapping memcpy, which may garble the list: so it
  // gets only names that it knows.
  static const std::array<std::vector<std::string>, 4> known = {
      supported(Method::key_exchange), supported(Method::host_key), supported(Method::cipher),
      supported(Method::mac)};
  const auto& names = known[static_cast<std::size_t>(method)];
  std::string list;
  for (const std::string& name : algorithms)
    if (std::find(names.begin(), names.end(), name) != names.end())
      list.append(list.empty() ? "" : ",").append(name);
  if (list.empty()) return false;
  const auto kinds = kinds_of(method);
  return std::all_of(kinds.begin(), kinds.end(), [&](int kind) {
    return libssh2_session_method_pref(session_, kind, list.c_str()) == 0;
  });
}

Progress SshSession::handshake() {
  return progress_of(libssh2_session_handshake(session_, stream_.fd()));
}

bool SshSession::found_no_common_algorithm() const {
  const int code = libssh2_session_last_errno(session_);
  return code == LIBSSH2_ERROR_KEX_FAILURE || code == LIBSSH2_ERROR_KEY_EXCHANGE_FAILURE ||
         code == LIBSSH2_ERROR_METHOD_NOT_SUPPORTED;
}

std::string SshSession::host_key() const {
  std::size_t size = 0;
  int type = 0;
  const char* key = libssh2_session_hostkey(session_, &size, &type);
  return key ? std::string(key, size) : std::string();
}

Progress SshSession::authenticate(const std::string& user, const LoginKey& login,
                                  const Sign& sign) {
  SignRequest request{sign, {}};
  void* abstract = &request;
  const std::string blob = blob_for_algorithm(login.key->public_blob(), login.algorithm);
  const int code = libssh2_userauth_publickey(session_, user.c_str(),
                                              reinterpret_cast<const unsigned char*>(blob.data()),
                                              blob.size(), sign_request, &abstract);
  sign_trouble_ = std::move(request.trouble);
  return progress_of(code);
}

Progress SshSession::open_channel() {
  channel_ = libssh2_channel_open_session(session_);
  return opened();
}

Progress SshSession::open_forward(const std::string& host, int port) {
  // The last two arguments name the originator, for the server's log; ssh sends the same.
  channel_ = libssh2_channel_direct_tcpip_ex(session_, host.c_str(), port, "127.0.0.1", 65535);
  return opened();
}

Progress SshSession::opened() const {
  if (channel_) return Progress::done;
  const bool is_on_its_way = libssh2_session_last_errno(session_) == LIBSSH2_ERROR_EAGAIN;
  return is_on_its_way ? Progress::wait : Progress::failed;
}

std::unique_ptr<SshChannel> SshSession::take_channel() {
  return std::make_unique<SshChannel>(session_, std::exchange(channel_, nullptr));
}

bool SshSession::is_forwarding_forbidden() const {
  return trouble().find("prohibited") != std::string::npos;
}

std::string SshSession::trouble() const {
  if (!sign_trouble_.empty()) return sign_trouble_;
  char* message = nullptr;
  int size = 0;
  if (session_) libssh2_session_last_error(session_, &message, &size, 0);
  return message ? std::string(message, static_cast<std::size_t>(size)) : "out of memory";
}

}  // namespace train
