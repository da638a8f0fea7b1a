import CFaultyDisk
import CommonTesting
import Delivery
import Foundation
import Notifications
import Storage
import Synchronization
import Testing

@testable import SQLiteStore
import SQLiteSupport

/// A disk that fails, simulated below SQLite: no answer is wrong, and when the disk works again, the service does
/// too.
@Suite("A faulty disk", .timeLimit(.minutes(2)))
struct FaultyDiskTests {
    private static let destination = Example.destination()

    /// `Delivery` over a store on a disk that fails on request.
    private struct Rig: Sendable {
        let store: SQLiteStore
        let path: String
        let delivery: Delivery
        let answers = Answers()
        private let disk: Int32

        init(_ store: SQLiteStore, _ path: String, disk: Int32, limits: DeliveryLimits) {
            self.store = store
            self.path = path
            self.disk = disk
            let clock: @Sendable () -> Moment = { Moment(time: Example.moment, uptime: Uptime(nanoseconds: 1)) }
            let switchboard = LocalSwitchboard(mailboxes: store, limits: limits, clock: clock)
            delivery = Delivery(
                accounts: store, registrations: store, mailboxes: store, switchboard: switchboard, feedback: store,
                origin: OfferOrigin(rawValue: 1), limits: limits, clock: ServiceClock(machine: clock))
        }

        func setFault(_ fault: faulty_disk_fault) { faulty_disk_set(disk, fault) }

        /// Returns when this many calls have met the fault.
        func met(_ count: Int) async throws {
            try await wait(while: faulty_disk_count(disk) < count)
        }

        func submit(_ number: UInt64, to destination: Destination = FaultyDiskTests.destination) {
            var entry = Example.entry(destination, id: number)
            entry.notification.fields.expiration = .unspecified
            delivery.submit(
                [
                    Submission(
                        destination: destination, deviceToken: DeviceToken(bytes: SIMD32(repeating: 1)), generation: 1,
                        notification: entry.notification, ticket: number)
                ],
                answers: answers)
        }

        /// Expects the mailbox to contain that notification.
        func expect(_ number: UInt64, sourceLocation: SourceLocation = #_sourceLocation) async throws {
            let held = try await held(in: store)
            #expect(held == number, sourceLocation: sourceLocation)
        }

        /// The number of the notification in the mailbox.
        func held(in store: SQLiteStore) async throws -> UInt64? {
            try await store.entries(of: FaultyDiskTests.destination.deviceKey).first?.entry.notification.id.low
        }
    }

    /// Collects answers, and lets a test wait for them.
    private final class Answers: SubmissionAnswers {
        private let all = Mutex<[UInt64: Outcome]>([:])

        func answer(_ ticket: UInt64, with outcome: Outcome) { all.withLock { $0[ticket] = outcome } }

        subscript(_ ticket: UInt64) -> Outcome? { all.withLock { $0[ticket] } }

        func next(_ ticket: UInt64) async throws -> Outcome {
            try await firstValue { self[ticket] }
        }
    }

    private static func isUnavailable(_ outcome: Outcome?) -> Bool {
        if case .rejected(let rejection) = outcome { rejection.reason == .serviceUnavailable } else { false }
    }

    /// Runs the test on a store that has accepted notification 1.
    private func withRig(
        limits: DeliveryLimits = DeliveryLimits(),
        _ body: (Rig) async throws -> Void,
    ) async throws {
        try await withTemporaryPath { path in
            #expect(faulty_disk_install() == 0)
            let disk = faulty_disk_add(path)
            try #require(disk >= 0)
            let store = try await SQLiteStore.open(folder: path)
            let rig = Rig(store, path, disk: disk, limits: limits)
            defer { rig.setFault(FAULTY_DISK_NONE) }
            for app in 1...9 as ClosedRange<UInt32> {
                _ = try await store.register(Example.destination(app: app), tokenKeyID: 1, at: Example.moment)
            }
            rig.submit(1)
            #expect(try await rig.answers.next(1) == .accepted)
            do {
                try await body(rig)
            } catch {
                await store.close()
                throw error
            }
            rig.setFault(FAULTY_DISK_NONE)
            await store.close()
        }
    }

    @Test
    func `While the disk is full new notifications are refused, and accepted ones stay`() async throws {
        try await withRig { rig in
            rig.setFault(FAULTY_DISK_FULL)
            rig.submit(2)
            #expect(Self.isUnavailable(try await rig.answers.next(2)))
            try await rig.expect(1)
            try await withStoreAfterCrash(of: rig.path) { store in
                let held = try await rig.held(in: store)
                #expect(held == 1)
            }
            rig.setFault(FAULTY_DISK_NONE)
            rig.submit(3)
            #expect(try await rig.answers.next(3) == .accepted)
            try await rig.expect(3)
        }
    }

    @Test(arguments: [2, 3] as [UInt32])
    func `While writing fails nothing is accepted, and afterwards the waiting notifications are`(
        fault: UInt32
    ) async throws {
        try await withRig { rig in
            rig.setFault(faulty_disk_fault(rawValue: fault))
            rig.submit(2)
            try await rig.met(3)
            // It is uncertain whether the notification is on the disk, so there is no answer yet.
            #expect(rig.answers[2] == nil)
            // After a crash at this moment, the disk has one of the two notifications.
            try await withStoreAfterCrash(of: rig.path) { store in
                let held = try await rig.held(in: store)
                #expect(held == 1 || held == 2)
            }
            rig.setFault(FAULTY_DISK_NONE)
            #expect(try await rig.answers.next(2) == .accepted)
            try await rig.expect(2)
            try await withStoreAfterCrash(of: rig.path, named: "-again") { store in
                let held = try await rig.held(in: store)
                #expect(held == 2)
            }
        }
    }

    /// Each failed transaction is shorter than the one before, so that the end of each stays in the log.
    @Test
    func `What transactions that failed have left in the log is not damage`() async throws {
        try await withRig { rig in
            rig.setFault(FAULTY_DISK_SYNC)
            for count in [9, 6, 3] as [UInt32] {
                let entries = (1...count).map { Example.entry(Example.destination(app: $0), id: 5, bytes: 4000) }
                for result in await rig.store.store(entries) { #expect(throws: StoreError.self) { try result.get() } }
            }
            rig.setFault(FAULTY_DISK_NONE)
            rig.submit(2)
            #expect(try await rig.answers.next(2) == .accepted)
            try await withStoreAfterCrash(of: rig.path) { store in
                let held = try await rig.held(in: store)
                #expect(held == 2)
            }
        }
    }

    @Test
    func `A service that shuts down while the disk fails ends, and refuses what it cannot promise`() async throws {
        try await withRig { rig in
            rig.setFault(FAULTY_DISK_SYNC)
            rig.submit(2)
            try await rig.met(1)
            await rig.delivery.drain()
            #expect(Self.isUnavailable(rig.answers[2]))
        }
    }

    @Test
    func `After a failed removal a notification is delivered again`() async throws {
        try await withRig { rig in
            let stored = try #require(try await rig.store.entries(of: Self.destination.deviceKey).first)
            let reference = MailboxReference(destination: Self.destination, version: stored.version)
            rig.setFault(FAULTY_DISK_FULL)
            let refused = try #require(await rig.store.remove([reference]).first)
            #expect(throws: StoreError.self) { try refused.get() }
            try await rig.expect(1)
            rig.setFault(FAULTY_DISK_NONE)
            #expect(await rig.store.remove([reference]) == [.success(.removed)])
        }
    }

    @Test
    func `A slow disk slows acceptance: beyond the limit notifications are refused, and memory does not grow`()
        async throws
    {
        var limits = DeliveryLimits()
        limits.pendingStoresPerShard = 3
        try await withRig(limits: limits) { rig in
            rig.setFault(FAULTY_DISK_SLOW)
            rig.submit(2)
            try await rig.met(1)
            for number in 3...9 as ClosedRange<UInt64> {
                rig.submit(number, to: Example.destination(app: UInt32(number)))
            }
            // One is being written and three wait.
            for number in 6...9 as ClosedRange<UInt64> { #expect(Self.isUnavailable(rig.answers[number])) }
            for number in 2...5 as ClosedRange<UInt64> { #expect(rig.answers[number] == nil) }
            #expect(rig.delivery.pendingStores == 4)
            rig.setFault(FAULTY_DISK_NONE)
            for number in 2...5 as ClosedRange<UInt64> { #expect(try await rig.answers.next(number) == .accepted) }
        }
    }

    @Test
    func `A device that connects while the disk cannot be written gets the accepted notifications`() async throws {
        try await withRig { rig in
            rig.setFault(FAULTY_DISK_WRITE)
            let held = try await rig.held(in: rig.store)
            #expect(held == 1)
        }
    }
}
