// SPDX-License-Identifier: Apache-2.0
//
// Writes the seeds that are made by encoders; the readable ones in the corpus are written by hand.
//
//   fuzz-seeds tests/fuzz/corpus
#include "fuzz/seeds.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fuzz-seeds CORPUS-FOLDER\n";
    return 2;
  }
  const rota::fuzz::Seeds seeds(argv[1]);
  rota::fuzz::put_record_seeds(seeds);
  rota::fuzz::put_request_seeds(seeds);
  rota::fuzz::put_call_seeds(seeds);
  return 0;
}
