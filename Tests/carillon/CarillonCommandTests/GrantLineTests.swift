import Testing

@testable import carillon

/// What a person reads of a grant.
struct GrantLineTests {
    @Test func `One handle is not several`() {
        #expect([0, 1, 2].map { GrantCommand.count(ofHandles: $0) } == ["0 handles", "1 handle", "2 handles"])
    }
}
