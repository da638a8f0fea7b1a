import Delivery
import GRDB
import SQLiteSupport
import Testing

@testable import SQLiteStore
import Storage

@Suite("What SQLite's errors mean")
struct SQLiteFailureTests {
    private func failure(_ code: ResultCode) -> SQLiteFailure { SQLiteFailure(code: code, message: "m") }

    @Test
    func `Failures of the database end the transaction, and failures of one statement do not`() {
        let ending: [ResultCode] = [
            .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_IOERR_WRITE, .SQLITE_BUSY, .SQLITE_NOMEM, .SQLITE_CORRUPT,
        ]
        #expect(ending.allSatisfy { failure($0).endsTransaction })
        let own: [ResultCode] = [.SQLITE_CONSTRAINT, .SQLITE_CONSTRAINT_NOTNULL, .SQLITE_TOOBIG, .SQLITE_MISMATCH]
        #expect(own.allSatisfy { !failure($0).endsTransaction })
    }

    @Test
    func `A COMMIT is uncertain, unless its failure proves that it failed`() {
        #expect(failure(.SQLITE_FULL).provesCommitFailed)
        #expect(failure(.SQLITE_BUSY).provesCommitFailed)
        #expect(!failure(.SQLITE_IOERR_FSYNC).provesCommitFailed)
        #expect(failure(.SQLITE_IOERR_FSYNC).doubtfulCommit.code == .unknown)
    }

    @Test(arguments: [
        ResultCode.SQLITE_FULL, .SQLITE_IOERR_SHMSIZE,
    ])
    func `A full disk is reported as that, whichever file it affects`(_ code: ResultCode) {
        #expect(failure(code).storeError.cause.contains("The disk is full"))
        #expect(!failure(.SQLITE_IOERR_WRITE).storeError.cause.contains("The disk is full"))
    }

    @Test
    func `Damage is unreadable, and temporary failures are unavailable`() {
        #expect(failure(.SQLITE_CORRUPT).storeError.code == .unreadable)
        #expect(failure(.SQLITE_NOTADB).storeError.code == .unreadable)
        let passing: [ResultCode] = [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_BUSY, .SQLITE_READONLY, .SQLITE_CANTOPEN]
        #expect(passing.allSatisfy { failure($0).storeError.code == .unavailable })
    }
}
