// SPDX-License-Identifier: Apache-2.0
// rota: the command line of people and scripts.
#include <string>
#include <vector>

#include "base/standard_files.h"
#include "rota/command_line.h"

int main(int argc, char** argv) {
  rota::base::occupy_standard_files();
  return rota::cli::run_command_line(std::vector<std::string>(argv + 1, argv + argc), stdout,
                                     stderr);
}
