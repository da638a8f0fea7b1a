import Delivery
import Notifications
import Testing

extension StoreContract {
    static let attemptNumberPromises: [Promise] = [
        Promise("there is no mark before the first one is kept", noMark),
        Promise("the mark that was kept is read", keepsMark),
        Promise("a greater mark replaces a smaller one, and a smaller one never replaces a greater one", keepsGreatest),
        Promise("of many marks that are kept at the same time, the greatest stays", keepsGreatestOfMany),
        Promise("the largest bound is kept unchanged", keepsLargestBound),
    ]

    private static func mark(_ bound: UInt64, at time: Timestamp = Samples.moment) throws -> AttemptMark {
        try #require(AttemptMark(bound: bound, time: time))
    }

    @Sendable
    private static func noMark(_ ports: Ports) async throws {
        #expect(try await ports.attemptNumbers.attemptMark() == nil)
    }

    @Sendable
    private static func keepsMark(_ ports: Ports) async throws {
        let kept = try mark(7)
        try await ports.attemptNumbers.keep(kept)
        #expect(try await ports.attemptNumbers.attemptMark() == kept)
        try await ports.attemptNumbers.keep(kept)
        #expect(try await ports.attemptNumbers.attemptMark() == kept)
    }

    @Sendable
    private static func keepsGreatest(_ ports: Ports) async throws {
        try await ports.attemptNumbers.keep(try mark(7, at: Samples.later))
        // The clock was set back, but the numbers have grown.
        let greater = try mark(8, at: Samples.moment)
        try await ports.attemptNumbers.keep(greater)
        #expect(try await ports.attemptNumbers.attemptMark() == greater)
        for smaller in [try mark(7, at: Samples.muchLater), try mark(8, at: Samples.muchLater)] {
            try await ports.attemptNumbers.keep(smaller)
            #expect(try await ports.attemptNumbers.attemptMark() == greater)
        }
    }

    @Sendable
    private static func keepsGreatestOfMany(_ ports: Ports) async throws {
        let marks = try (1...50).map { try mark($0 * 7 % 50 + 1) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for mark in marks { group.addTask { try await ports.attemptNumbers.keep(mark) } }
            try await group.waitForAll()
        }
        #expect(try await ports.attemptNumbers.attemptMark() == mark(50))
    }

    @Sendable
    private static func keepsLargestBound(_ ports: Ports) async throws {
        let largest = try mark(AttemptMark.maximum)
        try await ports.attemptNumbers.keep(largest)
        #expect(try await ports.attemptNumbers.attemptMark() == largest)
    }
}
