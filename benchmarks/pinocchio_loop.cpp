// Pinocchio without Python: best nanoseconds of one evaluation in a loop of C++, linked against the library the
// Python package ships. Reads a model (boost text archive) and a state with closures; prints "name nanoseconds" lines.
// Built and run by benchmarks/peer.py.
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>

#include <pinocchio/multibody.hpp>
#include <pinocchio/serialization.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/loop-constrained-aba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

using namespace pinocchio;
using Clock = std::chrono::steady_clock;

template<class F>
double seconds(int count, F f)
{
  const auto start = Clock::now();
  for (int i = 0; i < count; ++i)
    f();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template<class F>
void report(const std::string & name, F f)
{
  int count = 1;
  while (seconds(count, f) < 1e-3)
    count *= 2;
  double best = 1e9;
  for (int round = 0; round < 100; ++round)
    best = std::min(best, seconds(count, f) / count);
  std::cout << name << " " << 1e9 * best << std::endl;
}

Eigen::VectorXd vector(std::istream & in, int n)
{
  Eigen::VectorXd x(n);
  for (int i = 0; i < n; ++i)
    in >> x[i];
  return x;
}

SE3 placement(std::istream & in)
{
  const Eigen::VectorXd x = vector(in, 12);
  Eigen::Matrix3d R;
  R << x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8];
  return SE3(R, x.tail(3));
}

int main(int, char ** arguments)
{
  Model model;
  serialization::loadFromText(model, arguments[1]);
  std::ifstream in(arguments[2]);
  int closures;
  in >> closures;
  const Eigen::VectorXd q = vector(in, model.nq), v = vector(in, model.nv), a = vector(in, model.nv);
  Data data(model);
  if (closures == 0)
  {
    report("RNEA", [&] { rnea(model, data, q, v, a); });
    report("CRBA", [&] { crba(model, data, q, Convention::LOCAL); });
    report("CRBA, world", [&] { crba(model, data, q, Convention::WORLD); });
    report("ABA", [&] { aba(model, data, q, v, a, Convention::LOCAL); });
    report("ABA, world", [&] { aba(model, data, q, v, a, Convention::WORLD); });
    return 0;
  }
  std::vector<RigidConstraintModel, Eigen::aligned_allocator<RigidConstraintModel>> models;
  std::vector<RigidConstraintData, Eigen::aligned_allocator<RigidConstraintData>> datas;
  for (int k = 0; k < closures; ++k)
  {
    int rows, one, other;
    in >> rows >> one;
    const SE3 at_one = placement(in);
    in >> other;
    const SE3 at_other = placement(in);
    models.emplace_back(rows == 6 ? CONTACT_6D : CONTACT_3D, model, one, at_one, other, at_other, LOCAL);
    datas.push_back(models.back().createData());
  }
  initConstraintDynamics(model, data, models, datas);
  ProximalSettings settings(1e-14, 1e-8, 2);
  report("constraintDynamics", [&] { constraintDynamics(model, data, q, v, a, models, datas, settings); });
  Data other(model);
  computeJointMinimalOrdering(model, other, models);
  ProximalSettings loose(1e-14, 1e-6, 2);
  report("lcaba", [&] { lcaba(model, other, q, v, a, models, datas, loose); });
}
