import CommonTesting
import Delivery
import Foundation
import Notifications
import Storage
import Testing

@testable import SQLiteStore
import SQLiteSupport

@Suite("Answered writes survive")
struct DurabilityTests {
    @Test
    func `A crash loses no stored notification`() async throws {
        try await withStore { store, path in
            let entries = (1...200).map { Example.entry(Example.destination(app: $0), id: UInt64($0)) }
            let versions = try await store.store(entries).map { try $0.get() }
            try await withStoreAfterCrash(of: path) { store in
                let expected = zip(entries, versions).map { StoredMailboxEntry(entry: $0, version: $1) }
                let stored = try await store.entries(of: Example.destination().deviceKey)
                #expect(stored == expected)
            }
        }
    }

    @Test
    func `A crash loses no registration`() async throws {
        try await withStore(registered: []) { store, path in
            let destination = Example.destination()
            _ = try await store.register(destination, tokenKeyID: 1, at: Example.moment)
            try await store.renewTokens(of: destination.deviceKey, tokenKeyID: 2, at: Example.moment)
            let registration = try await store.register(destination, tokenKeyID: 3, at: Example.moment)
            try await withStoreAfterCrash(of: path) { store in
                #expect(store.knownRegistration(of: destination) == .registered(registration))
            }
        }
    }

    @Test
    func `After a restart the accounts are the same, and new apps get new IDs`() async throws {
        try await withTemporaryPath { path in
            let team = Team(id: try #require(TeamID(rawValue: "TEAM000001")), name: "Team")
            let (first, second) = (
                try #require(BundleID(rawValue: "com.example.one")), try #require(BundleID(rawValue: "com.example.two"))
            )
            let key = TeamKey(
                id: try #require(KeyID(rawValue: "KEY0000001")), team: team.id, publicKey: [4, 5, 6],
                environments: [.development], bundleIDs: [first], revoked: Example.moment)
            let certificate = TeamCertificate(
                serial: try #require(CertificateSerial("40000000000000000000000000000001")), team: team.id,
                bundleID: first, environments: [.production], validUntil: Example.moment, revoked: Example.moment)
            let store = try await SQLiteStore.open(folder: path)
            _ = try await store.apply(.createTeam(team))
            _ = try await store.apply(.createApp(bundleID: first, team: team.id))
            _ = try await store.apply(.createKey(key))
            _ = try await store.apply(.createCertificate(certificate))
            let serials = try ["41", "42"].map {
                try #require(CertificateSerial($0 + String(repeating: "0", count: 30)))
            }
            let administrator = AdministratorCertificate(
                serial: serials[0], made: Example.moment, validUntil: Timestamp(milliseconds: .max))
            _ = try await store.apply(.createAdministrator(administrator, at: Example.moment))
            _ = try await store.apply(.revokeAdministrator(serials[0], at: Example.moment))
            _ = try await store.apply(
                .revokeUnlistedAdministrator(
                    serials[1], validUntil: Timestamp(milliseconds: .max), at: Example.moment))
            let before = try await store.apply(
                .revokeDevice(Example.destination().deviceKey, at: Example.moment))
            #expect(before.administrators.count == 2)
            await store.close()

            let reopened = try await SQLiteStore.open(folder: path)
            #expect(reopened.current == before)
            let next = try await reopened.apply(.createApp(bundleID: second, team: team.id))
            #expect(next.apps[second]?.id != next.apps[first]?.id)
            await reopened.close()
        }
    }

    @Test
    func `Versions grow after a restart or a crash, and are never used again`() async throws {
        try await withTemporaryPath { path in
            var versions: Set<MailboxVersion> = []
            for _ in 0..<3 {
                let store = try await SQLiteStore.open(folder: path)
                _ = try await store.register(Example.destination(), tokenKeyID: 1, at: Example.moment)
                let results = await store.store([Example.entry(), Example.entry()])
                for result in results { #expect(versions.insert(try result.get()).inserted) }
                let stored = await store.store([Example.entry()])
                let last = try #require(stored.first).get()
                _ = await store.remove([MailboxReference(destination: Example.destination(), version: last)])
                try await withStoreAfterCrash(of: path) { store in
                    let version = try #require(await store.store([Example.entry()]).first).get()
                    #expect(version != last && !versions.contains(version))
                }
                #expect(versions.insert(last).inserted)
                try FileManager.default.removeItem(atPath: path + "-crashed")
                await store.close()
            }
        }
    }

    @Test
    func `After a restart a hundred thousand registrations are still there`() async throws {
        try await withTemporaryPath { path in
            let count = 100_000
            try await SQLiteStore.open(folder: path).close()
            try insertRegistrations(count, into: path + "/carillon.sqlite")

            let store = try await SQLiteStore.open(folder: path)
            #expect(store.registrations.count == count)
            let missing = (1...UInt64(count)).count { number in
                let expected = Registration(
                    generation: UInt32(number),
                    tokenKeyID: 3,
                    tokenSince: Timestamp(milliseconds: number),
                    isActive: number % 2 == 0,
                    changed: Timestamp(milliseconds: number + 1),
                )
                return store.knownRegistration(of: Example.destination(number, app: 1)) != .registered(expected)
            }
            #expect(missing == 0)
            #expect(store.knownRegistration(of: Example.destination(UInt64(count) + 1)) == .neverRegistered)
            await store.close()
        }
    }

    @Test
    func `A closed store refuses all calls`() async throws {
        try await withStore { store, _ in
            await store.close()
            #expect(await store.store([Example.entry()]) == [.failure(.closed)])
            await #expect(throws: StoreError.closed) { try await store.entries(of: Example.destination().deviceKey) }
        }
    }

    @Test
    func `Writes that were submitted before closing are written`() async throws {
        try await withTemporaryPath { path in
            let store = try await SQLiteStore.open(folder: path)
            _ = try await store.register(Example.destination(), tokenKeyID: 1, at: Example.moment)
            let release = await store.holdWriter()
            async let stored = store.store([Example.entry()])
            try await store.waitForPending(1)
            async let closing: Void = store.close()
            release()
            await closing
            for result in await stored { _ = try result.get() }
            let reopened = try await SQLiteStore.open(folder: path)
            #expect(try await reopened.entries(of: Example.destination().deviceKey).count == 1)
            await reopened.close()
        }
    }
}
