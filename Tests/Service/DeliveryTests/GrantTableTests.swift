import Notifications
import Testing

@testable import Delivery

/// What finds grants without looking at all of them.
@Suite struct GrantTableTests {
    private static let moment = Timestamp(milliseconds: 1_700_000_000_000)

    private func grant(_ number: Int, isSuspended: Bool = false) throws -> Grant {
        let letters = "abcdefghijklmnop".map { String($0) }
        let digits = [12, 8, 4, 0].map { letters[(number >> $0) & 15] }.joined()
        return Grant(
            id: try #require(GrantID(rawValue: "g_\(digits)" + String(repeating: "a", count: 12))),
            bundleID: try #require(BundleID(rawValue: "com.example.app")),
            team: try #require(TeamID(rawValue: "TEAM000001")), name: "\(number)",
            key: try #require(KeyID(rawValue: "KEY\(number)")), publicKey: [UInt8(number & 255), UInt8(number >> 8)],
            clientKey: "ck_\(number)", isSuspended: isSuspended, made: Self.moment)
    }

    @Test func `Each of many grants is found by its identifier and its keys`() throws {
        var table = GrantTable()
        for number in 0..<5000 { table.set(try grant(number)) }
        #expect(table.count == 5000 && table.unrevokedCount == 5000 && table.losses == 0)
        for number in stride(from: 0, to: 5000, by: 7) {
            let grant = try grant(number)
            #expect(table[grant.id] == grant)
            #expect(table.grant(withKey: grant.key) == grant && table.grant(withClientKey: grant.clientKey) == grant)
            #expect(table.grant(withPublicKey: grant.publicKey) == grant)
        }
        #expect(Set(table.values.map(\.name)).count == 5000)
    }

    @Test func `What a grant does not have any more finds nothing`() throws {
        var (table, grant) = (GrantTable(), try grant(1))
        let second = GrantProviderKey(id: try #require(KeyID(rawValue: "SECOND")), publicKey: [7], made: Self.moment)
        table.set(grant)
        #expect(grant.providerKeys.add(second) && !grant.providerKeys.add(second))
        table.set(grant)
        #expect(table.losses == 0, "A second key takes nothing away.")
        let first = grant.key
        #expect(grant.providerKeys.remove(first)?.id == first && grant.providerKeys.remove(second.id) == nil)
        table.set(grant)
        #expect(table.losses == 1)
        #expect(table.grant(withKey: first) == nil && table.grant(withKey: second.id) == grant)
        #expect(table.grant(withPublicKey: [1, 0]) == nil && table.grant(withPublicKey: [7]) == grant)
        table.remove(grant.id)
        #expect(table.isEmpty && table.grant(withKey: second.id) == nil && table.grant(withClientKey: "ck_1") == nil)
        #expect(table.losses == 2 && table.unrevokedCount == 0)
    }

    @Test func `A suspension and a revocation are losses, and a change of a name is none`() throws {
        var (table, grant) = (GrantTable(), try grant(1))
        table.set(grant)
        grant.name = "renamed"
        table.set(grant)
        #expect(table.losses == 0)
        grant.isSuspended = true
        table.set(grant)
        #expect(table.losses == 1 && table.unrevokedCount == 1)
        grant.revoked = Self.moment
        table.set(grant)
        #expect(table.losses == 1, "It was not accepted before.")
        #expect(table.count == 1 && table.unrevokedCount == 0)
    }

    @Test func `A copy keeps what it has`() throws {
        var (table, grant) = (GrantTable(), try grant(1))
        table.set(grant)
        let copy = table
        grant.name = "renamed"
        table.set(grant)
        #expect(copy[grant.id]?.name == "1" && table[grant.id]?.name == "renamed" && copy != table)
        #expect(GrantTable() == [:] && GrantTable(version: 3).losses != GrantTable(version: 4).losses)
    }
}
