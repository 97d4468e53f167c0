// SPDX-License-Identifier: Apache-2.0
#include "launcher/context/private_files.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("files that commonly hold keys and passwords are known by their names") {
  for (const char* path : {".env",
                           "a/.env",
                           ".env.local",
                           "id_rsa",
                           "keys/id_ed25519",
                           ".netrc",
                           ".npmrc",
                           ".pypirc",
                           ".git-credentials",
                           ".aws/credentials",
                           "home/.aws/credentials",
                           ".kube/config",
                           "kubeconfig",
                           ".docker/config.json",
                           "server.pem",
                           "a/b.key",
                           "x.p12",
                           ".ssh/anything",
                           "home/.ssh/deep/er",
                           ".gnupg/x"}) {
    CAPTURE(path);
    CHECK(is_private_file(path));
  }
}

TEST_CASE("templates, public keys and other files are not taken for secrets") {
  for (const char* path :
       {"main.py", "env", "environment.env.py", ".env.example", "a/.env.sample", "id_rsa.pub",
        "x.pem.template", "aws/credentials", "credentials", "my.aws/credentials", "config.json",
        "kube/config", "keys.py", "pem", "my.ssh/x", "ssh/config", ".envrc.py", ".ssh"}) {
    CAPTURE(path);
    CHECK_FALSE(is_private_file(path));
  }
}

TEST_CASE("the warning names the first few files, and is one line of bounded length") {
  CHECK(warning_of_private_files({}).empty());
  CHECK(warning_of_private_files({".env"}) ==
        "the context has files that commonly hold keys or passwords, and that every host gets: "
        "'.env'; to leave them out, name them in .trainignore");
  const std::vector<std::string> many(1000, std::string(4000, 'x') + "/id_rsa");
  const std::string warning = warning_of_private_files(many);
  CHECK(warning.size() < 500);
  CHECK_THAT(warning, Catch::Contains("xx/id_rsa' and 996 more; "));
}
