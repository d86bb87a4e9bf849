      *> The data of one call.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. LOCAL.
       DATA DIVISION.
       LOCAL-STORAGE SECTION.
       01  BYTES                   PIC X(3000000).
       PROCEDURE DIVISION.
       MAIN-LINE.
           MOVE ALL "AB" TO BYTES.
           DISPLAY BYTES (1:4).
           STOP RUN.
