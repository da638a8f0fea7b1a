import Testing

@testable import SQLiteStore
import SQLiteSupport

@Suite("Versions of mailboxes")
struct MailboxVersionsTests {
    private static let block = MailboxVersions.blockSize

    @Test
    func `The first versions reserve a block beyond what they use`() {
        var versions = MailboxVersions(reserved: 1)
        #expect(versions.allocate(3) == MailboxVersions.Allocation(first: 1, reservation: 4 + Self.block))
    }

    @Test
    func `Versions within a committed reservation need no write`() {
        var versions = MailboxVersions(reserved: 1)
        _ = versions.allocate(3)
        versions.committed(4 + Self.block)
        #expect(versions.allocate(Int(Self.block)) == MailboxVersions.Allocation(first: 4, reservation: nil))
        #expect(versions.allocate(1).reservation != nil)
    }

    @Test
    func `A reservation that was rolled back is made again, and no version is used twice`() {
        var versions = MailboxVersions(reserved: 1)
        _ = versions.allocate(3)
        #expect(versions.allocate(2) == MailboxVersions.Allocation(first: 4, reservation: 6 + Self.block))
    }

    @Test
    func `After a restart versions begin after the reservation`() {
        var versions = MailboxVersions(reserved: 1)
        versions.committed(versions.allocate(1).reservation ?? 0)
        let last = versions.allocate(100).first + 99
        var restarted = MailboxVersions(reserved: versions.reserved)
        #expect(restarted.allocate(1).first > last)
    }

    @Test
    func `A block has a million versions`() {
        #expect(MailboxVersions.blockSize == 1_048_576)
    }
}
