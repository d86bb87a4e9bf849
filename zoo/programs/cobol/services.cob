      *> Additional heaps from COBOL: the storage services of Language Environment
      *> in the order of its books. Numbers are COMP-5: the machine's own form.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. SERVICES.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  HEADING-TEXT            PIC X(80)
               VALUE "User defined report heading".
       01  HEAP-ID                 PIC S9(9) COMP-5 VALUE 0.
       01  INITIAL-SIZE            PIC S9(9) COMP-5 VALUE 65536.
       01  INCREMENT               PIC S9(9) COMP-5 VALUE 0.
       01  HEAP-OPTIONS            PIC S9(9) COMP-5 VALUE 70.
       01  ELEMENT-SIZE            PIC S9(9) COMP-5 VALUE 4000.
       01  ELEMENT-ADDRESS         POINTER VALUE NULL.
       01  OLD-ADDRESS             POINTER VALUE NULL.
       01  FC.
           05  FC-SEVERITY         PIC S9(4) COMP-5.
           05  FC-MESSAGE          PIC S9(4) COMP-5.
           05  FC-FLAGS            PIC X.
           05  FC-FACILITY         PIC X(3).
           05  FC-INSTANCE         PIC S9(9) COMP-5.
       01  EXPECTED                PIC S9(4) COMP-5.
       LINKAGE SECTION.
       01  ELEMENT                 PIC X(200000).
       PROCEDURE DIVISION.
       MAIN-LINE.
           CALL "CEE3RPH" USING HEADING-TEXT FC
               ON EXCEPTION
                   DISPLAY "no services"
                   STOP RUN
           END-CALL.
           PERFORM CHECK-SUCCESS.
           CALL "CEECRHP" USING HEAP-ID INITIAL-SIZE INCREMENT
               HEAP-OPTIONS FC.
           PERFORM CHECK-SUCCESS.
           IF HEAP-ID IS NOT POSITIVE
               DISPLAY "heap " HEAP-ID
               MOVE 1 TO RETURN-CODE
               STOP RUN
           END-IF.
           CALL "CEEGTST" USING HEAP-ID ELEMENT-SIZE ELEMENT-ADDRESS FC.
           PERFORM CHECK-SUCCESS.
           SET ADDRESS OF ELEMENT TO ELEMENT-ADDRESS.
           MOVE ALL "AB" TO ELEMENT (1:4000).
      *> Smaller, and larger than the heap.
           MOVE 2000 TO ELEMENT-SIZE.
           CALL "CEECZST" USING ELEMENT-ADDRESS ELEMENT-SIZE FC.
           PERFORM CHECK-SUCCESS.
           PERFORM CHECK-CONTENT.
           MOVE 200000 TO ELEMENT-SIZE.
           CALL "CEECZST" USING ELEMENT-ADDRESS ELEMENT-SIZE FC.
           PERFORM CHECK-SUCCESS.
           PERFORM CHECK-CONTENT.
           MOVE ALL "CD" TO ELEMENT.
      *> A size that is none, and an address that is none.
           MOVE -1 TO ELEMENT-SIZE.
           CALL "CEECZST" USING ELEMENT-ADDRESS ELEMENT-SIZE FC.
           MOVE 808 TO EXPECTED.
           PERFORM CHECK-CODE.
           SET OLD-ADDRESS TO ELEMENT-ADDRESS.
           CALL "CEEFRST" USING ELEMENT-ADDRESS FC.
           PERFORM CHECK-SUCCESS.
           CALL "CEEFRST" USING OLD-ADDRESS FC.
           MOVE 810 TO EXPECTED.
           PERFORM CHECK-CODE.
      *> What is not freed goes with the heap. Feedback may be left out.
           MOVE 50 TO ELEMENT-SIZE.
           CALL "CEEGTST" USING HEAP-ID ELEMENT-SIZE ELEMENT-ADDRESS
               OMITTED.
           CALL "CEEDSHP" USING HEAP-ID FC.
           PERFORM CHECK-SUCCESS.
           CALL "CEEDSHP" USING HEAP-ID FC.
           MOVE 803 TO EXPECTED.
           PERFORM CHECK-CODE.
           CALL "CEEFRST" USING ELEMENT-ADDRESS FC.
           MOVE 810 TO EXPECTED.
           PERFORM CHECK-CODE.
           DISPLAY "all held".
           STOP RUN.

       CHECK-SUCCESS.
           IF FC NOT = LOW-VALUES
               DISPLAY "message " FC-MESSAGE
               MOVE 1 TO RETURN-CODE
               STOP RUN
           END-IF.

       CHECK-CODE.
           IF FC-MESSAGE NOT = EXPECTED OR FC-SEVERITY NOT = 3
                   OR FC-FACILITY NOT = "CEE"
               DISPLAY "message " FC-MESSAGE ", not " EXPECTED
               MOVE 1 TO RETURN-CODE
               STOP RUN
           END-IF.

       CHECK-CONTENT.
           SET ADDRESS OF ELEMENT TO ELEMENT-ADDRESS.
           IF ELEMENT (1:4) NOT = "ABAB"
                   OR ELEMENT (1997:4) NOT = "ABAB"
               DISPLAY "content " ELEMENT (1:4)
               MOVE 1 TO RETURN-CODE
               STOP RUN
           END-IF.
