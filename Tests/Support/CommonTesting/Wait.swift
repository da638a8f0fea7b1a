/// Waits as long as a condition holds, for what nothing announces. It asks again after a short pause, because a loop without one
/// takes the processor from what the test waits for. At a test's limit of time it throws, so that no test runs for ever.
package func wait(while condition: @autoclosure () async throws -> Bool) async throws {
    while try await condition() { try await Task.sleep(for: .milliseconds(2)) }
}
