# A picture and a tone are made, encoded by threads into a file, read again, scaled and listed frame by frame.
ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=320x180:rate=25:duration=3 \
    -f lavfi -i sine=frequency=440:beep_factor=4:duration=3 \
    -fflags +bitexact -flags:v +bitexact -flags:a +bitexact -threads 2 -c:v mpeg4 -q:v 4 -bf 2 -c:a aac film.mkv
ffmpeg -v error -nostdin -threads 2 -i film.mkv -vf 'scale=160:-1:flags=bitexact+accurate_rnd,hue=s=0' \
    -fflags +bitexact -flags:v +bitexact -c:v ffv1 -level 3 -slices 4 -threads 2 -c:a flac gray.mkv
ffmpeg -v error -nostdin -i gray.mkv -fflags +bitexact -f framemd5 frames.txt
wc -l < frames.txt
ffprobe -v error -show_entries stream=codec_name,width,height,sample_rate,nb_read_packets -count_packets -of csv=p=0 gray.mkv
status=0
ffmpeg -v error -nostdin -i no-such-file -f null - || status=$?
echo "it ended with $status"
echo done
